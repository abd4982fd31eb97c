/** Runs the behaviours of `@kinora/client` in a page of another origin, which sends the results to its server. */
import { runBehaviours } from './behaviour.ts'
import { kinoraBehaviours } from './kinora.ts'

const query = new URLSearchParams((globalThis as unknown as { location: { search: string } }).location.search)
const results = await runBehaviours(kinoraBehaviours, query.get('url') ?? '', query.get('key') ?? '')
await fetch('/results', { method: 'POST', body: JSON.stringify(results) })
