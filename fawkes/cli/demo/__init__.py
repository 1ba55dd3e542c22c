"""The demo: a stage (site folder, lab, controller) that ends with its process, what is seen on it, how it came out."""
