"""What can go wrong with users of a site. No I/O."""

from typing import Literal

from stead.shared.errors import NotFound

PasswordDelivery = Literal["none", "reset_mail", "response"]


class CmsUserNotFound(NotFound):
    code = "cms_user.not_found"
    message = "The site has no such user."
    remedy = "List the users of the site with `GET …/users`."
