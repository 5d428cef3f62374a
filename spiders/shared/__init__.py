"""What all spiders share: settings, shapes, recording and replay, the child process that runs one of them."""
