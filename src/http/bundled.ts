/*
 * undici is CommonJS, and requires Node.js' own modules. In an ES module that esbuild has made there is no `require` for them, and undici would fail with
 * `Dynamic require of "node:assert" is not supported`. This comes before undici, and says what to do. Elsewhere it does nothing.
 */

if (typeof require === 'function') {
  try {
    require('node:assert')
  } catch (cause) {
    const message =
      'hexline cannot run in this bundle, an ES module without `require`: bundle with --format=cjs or --packages=external, or add --banner:js="import { createRequire as forRequire } from \'node:module\'; const require = forRequire(import.meta.url);"'
    throw new Error(message, { cause })
  }
}

export {}
