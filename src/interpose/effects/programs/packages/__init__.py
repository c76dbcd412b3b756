"""Package managers, build tools and toolchains."""
