"""Which images this machine has. CI makes those that many tests need; others are tested where they exist."""

from stead.node.images.image_store import ImageStore
from stead.node.images.recipe import ImageUnavailable


def has_image(name: str) -> bool:
    try:
        ImageStore().find(name)
    except ImageUnavailable:
        return False
    return True
