// Prints the slowest files, and the test totals as the last line. A skipped test counts as failed, because it has shown nothing.
import { readFileSync } from 'node:fs'
import path from 'node:path'

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const passed = report.numPassedTests
// A file that fails to load has no tests to count.
const brokenFiles = report.testResults.filter(
  ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
)
const tookMs = ({ startTime, endTime }) => endTime - startTime
console.log('slowest files:')
for (const file of report.testResults.toSorted((a, b) => tookMs(b) - tookMs(a)).slice(0, 10))
  console.log(`  ${Math.round(tookMs(file) / 1000)} s ${path.relative(process.cwd(), file.name)}`)
const failed = report.numTotalTests - passed + brokenFiles.length
for (const { name } of brokenFiles) console.log(`could not load ${name}`)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
