/** Runs the behaviours of `@kinora/client` in the runtime that started it, and prints the results as JSON. */
import { runBehaviours } from './behaviour.ts'
import { kinoraBehaviours } from './kinora.ts'

const [baseUrl = '', key = ''] = process.argv.slice(2)
console.log(JSON.stringify(await runBehaviours(kinoraBehaviours, baseUrl, key)))
