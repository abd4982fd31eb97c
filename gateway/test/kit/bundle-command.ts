/**
 * Bundles the `kinora` command for the processes that tests start. From source, each of them loads 1,900 files, which takes
 * three times as long. The code is the same, and finds its files at the same place.
 */
import { rm, writeFile } from 'node:fs/promises'
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

const keepUrlsIn = (sources: string): Plugin => ({
  name: 'keep-urls',
  enforce: 'pre',
  transform: (code, file) =>
    file.startsWith(sources) ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file))) : null,
})

/** Bundles the command of the sources in a directory, whose path ends with a slash. Returns the path of the bundle. */
export const bundleCommand = async (sources: string, directory: string): Promise<string> => {
  await build({
    ...{ root: sources, configFile: false, logLevel: 'error', plugins: [keepUrlsIn(sources)] },
    // Packages with native code or with workers of their own.
    ssr: { noExternal: true, external: ['pino', 'sharp', 'thread-stream'] },
    build: { ssr: `${sources}cli/src/kinora.ts`, outDir: directory, target: 'node24', minify: false },
  })
  // Without it, Node parses every file of the bundle to find out its format, at each start.
  await writeFile(`${directory}/package.json`, JSON.stringify({ type: 'module' }))
  return `${directory}/kinora.js`
}

export default async (project: TestProject) => {
  const command = process.env[variable]
  if (command !== undefined) {
    project.provide('command', command)
    return undefined
  }
  const directory = `${root}node_modules/.cache/kinora/${process.pid}`
  process.env[variable] = `${directory}/kinora.js`
  project.provide('command', await bundleCommand(root, directory))
  return () => rm(directory, { recursive: true, force: true })
}
