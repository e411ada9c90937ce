"""One small module for each engine the control plane uses."""
