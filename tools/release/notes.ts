/**
 * Prints the section of a version in the changelog.
 *
 *   npm run --silent release:notes -- v1.2.3
 */
import { readFile } from 'node:fs/promises'

const [tag = ''] = process.argv.slice(2)
const version = tag.replace(/^v/, '')
const sections = (await readFile('CHANGELOG.md', 'utf8')).split(/^## /m)
const section = sections.find((text) => text.split('\n', 1)[0] === version)
if (section === undefined) throw new Error(`CHANGELOG.md has no section for version ${version}.`)
console.log(section.slice(version.length).trim())
