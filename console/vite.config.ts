import { fileURLToPath } from 'node:url'

import { defineConfig, type Plugin } from 'vite'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** `npx vite console` serves the sources, and sends other requests to the service. */
const service = process.env['KINORA_URL'] ?? 'http://127.0.0.1:8787'

/** react-aria brings its texts in 30 languages, in a file for each. */
const withoutOtherLanguages: Plugin = {
  name: 'without-other-languages',
  load(id) {
    const [, locale] = /\/intl\/[^/]+\/([a-z]{2}-[A-Z]{2})\.m?js$/.exec(id) ?? []
    return locale === undefined || ['en-US', 'zh-CN'].includes(locale) ? null : 'export default {}'
  },
}

export default defineConfig({
  base: '/console/',
  root: source('.'),
  plugins: [withoutOtherLanguages],
  resolve: {
    alias: {
      '@kinora/client/admin': source('../client/src/admin.ts'),
      '@kinora/client': source('../client/src/index.ts'),
    },
  },
  build: {
    outDir: 'dist',
    target: 'es2022',
    // The content security policy forbids inline data that is not an image.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // Every module of the dependencies has `use client`, which has a meaning only on servers.
      onwarn: (warning, warn) => {
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning)
      },
    },
  },
  server: {
    proxy: { '^/(?!console/(?!v1/))': { target: service, changeOrigin: true } },
  },
})
