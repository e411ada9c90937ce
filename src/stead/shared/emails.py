"""The accepted format of email addresses: what every mail server accepts, without quoting or comments."""

PATTERN = (
    r"^(?=.{1,64}@)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$(?!\n)"
)
EXPECTED = "It has a name, an @ and a domain, without spaces, quotation marks or comments."
MAX_LENGTH = 254
