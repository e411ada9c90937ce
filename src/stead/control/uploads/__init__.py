"""Uploads: archives that customers send to be built, kept until a build has used them."""
