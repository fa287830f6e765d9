"""Files of meshes: VTK, XDMF, Gmsh and Exodus. Each format is a module that gives the `Variable`s of a file."""
