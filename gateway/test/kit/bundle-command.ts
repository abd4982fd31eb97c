/**
 * Bundles the `kinora` command for the processes that tests start. From source, each of them loads 1,900 files, which takes
 * three times as long. The code is the same, and finds its files at the same place.
 */
import { rm } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { build, type Plugin } from 'vite'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the bundle. */
    command: string
  }
}

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** Several projects run in this process; the first one builds. */
const variable = 'KINORA_TEST_COMMAND'

const keepUrls: Plugin = {
  name: 'keep-urls',
  enforce: 'pre',
  transform: (code, file) =>
    file.startsWith(root) ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file))) : null,
}

const bundle = async (directory: string): Promise<void> => {
  await build({
    ...{ root, configFile: false, logLevel: 'error', plugins: [keepUrls] },
    // Packages with native code or with workers of their own.
    ssr: { noExternal: true, external: ['pino', 'sharp', 'thread-stream'] },
    build: { ssr: `${root}cli/src/kinora.ts`, outDir: directory, target: 'node24', minify: false },
  })
}

export default async (project: TestProject) => {
  const command = process.env[variable]
  if (command !== undefined) {
    project.provide('command', command)
    return undefined
  }
  const directory = `${root}node_modules/.cache/kinora/${process.pid}`
  const built = `${directory}/kinora.js`
  process.env[variable] = built
  await bundle(directory)
  project.provide('command', built)
  return () => rm(directory, { recursive: true, force: true })
}
