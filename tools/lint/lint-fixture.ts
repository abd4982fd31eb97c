import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')

interface Report {
  diagnostics: { message: string; code: string; filename: string }[]
}

/**
 * Runs the linter with the project's configuration over a tree of small files. Returns the reports of each file, as
 * "rule: message".
 */
export async function lintFixture(
  files: Record<string, string>,
  options: { typeAware?: boolean } = {},
): Promise<Map<string, string[]>> {
  const directory = await mkdtemp(path.join(tmpdir(), 'kinora-lint-'))
  try {
    const configuration = await readFile(path.join(root, '.oxlintrc.json'), 'utf8')
    await writeFile(
      path.join(directory, '.oxlintrc.json'),
      configuration
        .replace('./tools/lint/plugin.mjs', path.join(root, 'tools/lint/plugin.mjs'))
        .replace('"typeAware": true', `"typeAware": ${options.typeAware ?? false}`),
    )
    await writeFile(path.join(directory, 'tsconfig.json'), await readFile(path.join(root, 'tsconfig.json')))
    await symlink(path.join(root, 'node_modules'), path.join(directory, 'node_modules'))
    for (const [file, text] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(directory, file)), { recursive: true })
      await writeFile(path.join(directory, file), text)
    }
    const found = new Map(Object.keys(files).map((file) => [file, [] as string[]]))
    for (const { filename, code, message } of (await runLinter(directory)).diagnostics) {
      found.get(filename)?.push(`${code}: ${message}`)
    }
    return found
  } finally {
    await rm(directory, { recursive: true })
  }
}

async function runLinter(directory: string): Promise<Report> {
  const { promise, resolve, reject } = Promise.withResolvers<Report>()
  const linter = path.join(root, 'node_modules/oxlint/bin/oxlint')
  // oxlint exits with an error when it reports something, so only unreadable output means that it did not run.
  execFile(process.execPath, [linter, '--format=json'], { cwd: directory }, (_error, stdout, stderr) => {
    try {
      resolve(JSON.parse(stdout) as Report)
    } catch {
      reject(new Error(`oxlint did not run: ${stdout}${stderr}`))
    }
  })
  return await promise
}
