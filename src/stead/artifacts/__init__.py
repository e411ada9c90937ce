"""What is delivered: trees packed into layers, unpacked with suspicion, named by digest and signed."""
