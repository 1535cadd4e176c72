import { defineConfig } from 'vite';

/** The page. `npm run build` makes it with everything else; its server is `src/page`. */
export default defineConfig({
  root: 'web',
  publicDir: 'public',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2023',
    // Those that know light-dark(): it is not to be rewritten for older ones.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The policy of the page allows no inline script, and images only as files or data.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
