// How the console is built: a page and files whose names have a hash. `npm run build -- console` calls it and
// compresses what it leaves (scripts/build/console.ts).

import { defineConfig } from 'vite'
import manifest from './package.json' with { type: 'json' }

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  // Nothing of the environment of whoever builds gets in.
  envPrefix: 'LOCI_CONSOLE_NOTHING_',
  define: { 'globalThis.LOCI_VERSION': JSON.stringify(manifest.version) },
  build: {
    target: ['chrome120', 'firefox121', 'safari17.4'],
    outDir: 'dist',
    emptyOutDir: true,
    // Its policy allows no `data:`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'assets/licenses.txt' },
    reportCompressedSize: false,
    rolldownOptions: {
      // Libraries tell frameworks that run on servers which of their files do not; nothing here does.
      onLog: (level, log, say) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') say(level, log)
      },
    },
  },
})
