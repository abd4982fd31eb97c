/** What it costs to record one value of a metric, in this process and with warm code, in microseconds. */
import { createCollector } from '../gateway/src/platform/metrics/export/collect-metrics.ts'
import { count, limitLabel, measure } from '../gateway/src/platform/metrics/metrics.ts'
import { median } from './measure/figures.ts'

/** As many labels as the values of a create have. */
const values: Record<string, () => void> = {
  'a duration of a request': () =>
    measure('http.server.request.duration', 0.01, {
      operation: 'createVideo',
      'http.response.status_code': '200',
      'error.type': undefined,
    }),
  'a counter with two labels': () => count('kinora.tasks.accepted', { kind: 'video', model: 'vidB-2' }),
  'a counter with one label': () => count('kinora.money.moved', { movement: 'hold' }, 0.4),
  'a duration without labels': () => measure('db.client.connection.wait_time', 0.001, {}),
}

const microsecondsOf = (record: () => void, times: number): number => {
  const before = process.cpuUsage()
  for (let done = 0; done < times; done += 1) record()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}

/** With and without metrics, the median of the rounds. */
export const measureValues = async ({
  rounds,
  times,
}: {
  rounds: number
  times: number
}): Promise<Record<string, Record<'off' | 'on', number>>> => {
  limitLabel('models', () => true)
  const medianOf = (record: () => void) =>
    median(Array.from({ length: rounds + 1 }, () => microsecondsOf(record, times)).slice(1))
  const all = () =>
    Object.fromEntries(Object.entries(values).map(([name, record]) => [name, medianOf(record)]))
  const off = all()
  const collector = createCollector('api', {}, undefined)
  const on = all()
  await collector.close()
  return Object.fromEntries(
    Object.keys(values).map((name) => [name, { off: off[name] ?? Number.NaN, on: on[name] ?? Number.NaN }]),
  )
}
