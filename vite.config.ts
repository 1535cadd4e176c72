import { defineConfig } from 'vite';
import { OPERATIONS } from './src/operations/operations.ts';

/** Routes for the web UI, which loads no operation itself: operations bring zod. */
export const define = {
  SQUAD_ROUTES: JSON.stringify(Object.fromEntries(OPERATIONS.map(({ name, route }) => [name, route]))),
};

/** Build of the web UI, part of `npm run build`. Its server is `src/web-server`. */
export default defineConfig({
  root: 'web',
  define,
  publicDir: 'public',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2023',
    // Browsers that support light-dark(), so that Vite does not rewrite it.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The CSP of the web UI forbids inline scripts and allows images only as files or data URLs.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // One file with everything that the first view needs: one request, and it compresses better than ten files.
        // One file with what several other views need, for the same reasons.
        codeSplitting: {
          groups: [
            { name: 'first', test: /\/web\/main\.tsx$/, priority: 1 },
            { name: 'shared', test: /\/web\//, minShareCount: 2 },
          ],
        },
      },
    },
  },
});
