"""The modules of the package, under the names that programs import them by."""
