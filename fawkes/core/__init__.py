"""The deciding core: values in, values out. No clock, no chance, no I/O."""
