/** By the build (vite.config.ts): of this release. */
declare var LOCI_VERSION: string
