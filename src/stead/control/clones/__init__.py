"""The operations and jobs that make environments from production, change and end them."""
