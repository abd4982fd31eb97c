/**
 * A program: runs queries and transactions in parallel while their connections are terminated again and again, then
 * prints how many succeeded and failed. An unhandled error ends it with another exit code than 0.
 */
import { createLog } from '../../src/platform/log.ts'
import { connectPostgres } from '../../src/platform/postgres.ts'

const lanes = 40
const rounds = 60

const [url = ''] = process.argv.slice(2)
const log = createLog({ level: 'silent' }, 'test')
const laneUrl = new URL(url)
laneUrl.searchParams.set('application_name', 'lanes')
const postgres = connectPostgres({ url: laneUrl.href, connectionsMax: 5 }, log)
const operator = connectPostgres({ url, connectionsMax: 1 }, log)

const counts = { succeeded: 0, failed: 0, terminated: 0 }
let isEnding = false
let onSuccess = () => {}

const work = async (lane: number) => {
  if (lane % 2 === 0) {
    await postgres.query('select pg_sleep(0.001), $1::int', [lane])
    return
  }
  await postgres.transaction(async (database) => {
    await database.query('select $1::int', [lane])
    await database.query('select pg_sleep(0.001)')
  })
}

const runLane = async (lane: number) => {
  while (!isEnding) {
    try {
      await work(lane)
      counts.succeeded += 1
      onSuccess()
    } catch {
      counts.failed += 1
    }
  }
}

const running = Array.from({ length: lanes }, (_, lane) => runLane(lane))
for (let round = 0; round < rounds; round += 1) {
  await new Promise<void>((resolve) => {
    onSuccess = resolve
  })
  const { rowCount } = await operator.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'lanes'`,
  )
  counts.terminated += rowCount ?? 0
}
isEnding = true
await Promise.all(running)
await Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane)))
await postgres.close()
await operator.close()
process.stdout.write(JSON.stringify(counts))
