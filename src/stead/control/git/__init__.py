"""Git: connects a site to its repository and builds what is pushed to it."""
