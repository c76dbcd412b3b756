"""What is known of coding agents besides their languages: where they keep their settings, and what switches hooks off.

Data for whoever protects, installs and examines: `install` owns it, and everybody below may read it.
"""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["hook_times", "known_agents", "off_flags", "off_variables", "switch_reader"]
