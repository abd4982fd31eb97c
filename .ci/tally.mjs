// Prints the one line that says how the tests went, last of all. A test that was skipped counts as failed:
// a part that did not run has not been shown to work.
import { readFileSync } from 'node:fs'

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const passed = report.numPassedTests
// A file that cannot even be loaded has no tests to count.
const brokenFiles = report.testResults.filter(
  ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
)
const failed = report.numTotalTests - passed + brokenFiles.length
for (const { name } of brokenFiles) console.log(`could not run ${name}`)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
