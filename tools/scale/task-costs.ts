/** What a task costs: the recorded benchmarks, and what is assumed about tasks. `docs/scale.md` is calculated from both. */
import type { InFlightFigures } from '../../bench/in-flight.ts'
import type { LifeFigures } from '../../bench/life.ts'
import type { Figures } from '../../bench/measure/figures.ts'
import { median } from '../../bench/measure/figures.ts'
import { mediansOf } from '../../bench/measure/rounds.ts'
import type { MediaFigures } from '../../bench/media.ts'
import type { SteadyFigures } from '../../bench/processes/steady.ts'
import type { RecordSizeFigures } from '../../bench/record-size.ts'
import { readResult } from '../../bench/report/results.ts'
import type { RequestFigures } from '../../bench/requests.ts'
import type { WaitingFigures } from '../../bench/waiting/waiting.ts'

/** A number with its unit and where it comes from. */
export interface Fact {
  what: string
  value: number
  unit: string
  source: string
}

export const assumed = {
  generationSeconds: {
    what: 'a provider works on a task',
    ...{ value: 90, unit: 's', source: 'a video of 8 to 10 seconds' },
  },
  readSeconds: {
    what: 'a customer reads the status of a task every',
    ...{ value: 5, unit: 's', source: 'a client that polls; event streams and webhooks cost less' },
  },
  resultMegabytes: { what: 'a result', value: 8, unit: 'MB', source: '10 seconds at 6.4 Mbit/s' },
  downloads: { what: 'a result is downloaded', value: 1.5, unit: 'times', source: '' },
  downloadSeconds: {
    what: 'a worker downloads, checks and uploads a result in',
    ...{ value: 3, unit: 's', source: 'a provider that sends 30 Mbit/s, and a fast bucket' },
  },
  peakFactor: {
    what: 'tasks per second at the peak, as a multiple of the average',
    ...{ value: 5, unit: '×', source: 'customers of a few time zones' },
  },
  peakFactorOfMany: {
    what: 'the same with a hundred million tasks a day',
    ...{ value: 3, unit: '×', source: 'customers everywhere' },
  },
  busyShare: {
    what: 'a process uses of a processor at the peak',
    ...{ value: 50, unit: '%', source: 'the rest is for a process that is missing' },
  },
  providerCost: {
    what: 'a provider takes for a task',
    ...{ value: 1, unit: 'USD', source: '0.10 USD for a second of video, the low end of list prices' },
  },
  processorPrice: { what: 'a processor', value: 0.04, unit: 'USD per hour', source: 'list prices of clouds' },
  objectPrice: { what: 'object storage', value: 0.021, unit: 'USD per GB and month', source: 'the same' },
  trafficPrice: {
    what: 'traffic to customers',
    value: 0.05,
    unit: 'USD per GB',
    source: 'the same, at volume',
  },
  diskPrice: { what: 'disks of a database', value: 0.12, unit: 'USD per GB and month', source: 'the same' },
} satisfies Record<string, Fact>

const recorded = <Content>(name: string): Content => {
  const result = readResult<Content>(name)
  if (result === undefined)
    throw new Error(`docs/performance/${name}.json is missing: npm run bench -- ${name}`)
  return result.figures
}

const life = mediansOf(recorded<LifeFigures>('life').life.kinora)
const read = mediansOf(recorded<RequestFigures>('requests').read.kinora)
const inFlight = recorded<InFlightFigures[]>('in-flight')
const [few, most] = [inFlight[0], inFlight.at(-1)]
if (few === undefined || most === undefined) throw new Error('docs/performance/in-flight.json has no figures')

const byLife = '`npm run bench -- life`'
const byRead = '`npm run bench -- requests`'
const byInFlight = '`npm run bench -- in-flight`'
type Process = 'API' | 'worker' | 'Restate' | 'PostgreSQL'
/** Its name in the figures. */
const keyOf = (process: Process) => (process === 'PostgreSQL' ? 'postgres' : process.toLowerCase())
const ofTask = (process: Process): Fact => ({
  ...{ what: `life of a task without its result, ${process}`, value: life[keyOf(process)] ?? 0 },
  ...{ unit: 'ms', source: byLife },
})
const ofRead = (process: Process): Fact => ({
  ...{ what: `status read, ${process}`, value: read[keyOf(process)] ?? 0, unit: 'ms', source: byRead },
})
const ofPoll = (process: Process): Fact => ({
  what: `poll of a provider beside ${most.tasks.toLocaleString('en')} tasks in flight, ${process}`,
  value: ((most.busy[keyOf(process)] ?? 0) * 1000) / most.pollsPerSecond,
  ...{ unit: 'ms', source: byInFlight },
})

const media = recorded<MediaFigures>('media-s3')
const largeResult = media.results.find(({ megabytes }) => megabytes === assumed.resultMegabytes.value)
if (largeResult === undefined) throw new Error('docs/performance/media-s3.json has no results of this size')
const msOfWorker = (rounds: Figures[]) => median(rounds.map(({ worker = 0 }) => worker))

const size = readResult<RecordSizeFigures>('record-size')?.figures
const stayingBytes = (video: Figures) => (video['ledger_entries'] ?? 0) + (video['usage_entries'] ?? 0)
/** KB of rows and their indexes. */
const sizeOf = (bytesOf: (figures: RecordSizeFigures) => number | undefined, assumedKb: number) =>
  size === undefined
    ? { value: assumedKb, unit: 'KB', source: 'not recorded; `npm run bench -- record-size` measures it' }
    : { value: (bytesOf(size) ?? 0) / 1_000, unit: 'KB', source: '`npm run bench -- record-size`' }

export const measured = {
  tasksPerSecond: {
    what: 'tasks per second of one machine with two processors, results of a few kilobytes',
    ...{ value: life['per second'] ?? 0, unit: '', source: byLife },
  },
  taskOfApi: ofTask('API'),
  taskOfWorker: ofTask('worker'),
  taskOfRestate: ofTask('Restate'),
  taskOfPostgres: ofTask('PostgreSQL'),
  readOfApi: ofRead('API'),
  readOfPostgres: ofRead('PostgreSQL'),
  pollOfWorker: ofPoll('worker'),
  pollOfRestate: ofPoll('Restate'),
  pollOfPostgres: ofPoll('PostgreSQL'),
  pollsPerSecond: {
    what: 'polls of a provider per second and task in flight, of young tasks',
    ...{ value: few.pollsPerSecond / few.tasks, unit: '', source: byInFlight },
  },
  tasksInFlight: {
    what: 'tasks in flight that one worker on two processors polls in time',
    ...{ value: most.tasks, unit: '', source: byInFlight },
  },
  mediaOfWorker: {
    what: 'result in S3, worker, for each MB',
    value: (msOfWorker(largeResult.rounds.kinora) - msOfWorker(media.empty)) / (largeResult.sizeBytes / 1e6),
    ...{ unit: 'ms', source: '`npm run bench -- media`' },
  },
  recordBytes: {
    what: 'rows of a video that are deleted with it, with their indexes',
    ...sizeOf(({ video }) => (video['total'] ?? 0) - stayingBytes(video), 6),
  },
  ledgerBytes: {
    what: 'rows of a video that stay, in the ledger and the usage',
    ...sizeOf(({ video }) => stayingBytes(video), 5),
  },
  requestBytes: { what: 'a request in the log', ...sizeOf(({ read: log }) => log['request_log'], 0.5) },
} satisfies Record<string, Fact>

const waiting = readResult<WaitingFigures>('waiting')?.figures
const steady = readResult<SteadyFigures[]>('processes-steady')?.figures
const processes = ['api', 'worker', 'restate', 'postgres', 'redis']
const msOfTask = ({ task }: SteadyFigures) => {
  const figures = mediansOf(task)
  return processes.reduce((sum, name) => sum + (figures[name] ?? 0), 0)
}

/** What the plans do not use. Absent until it was measured. */
export const alsoMeasured: Fact[] = [
  ...(waiting === undefined
    ? []
    : [
        {
          what: 'a client that follows a task with an event stream, memory of the API',
          ...{ value: waiting.memory.streams.resident, unit: 'KiB', source: '`npm run bench -- waiting`' },
        },
      ]),
  ...(steady ?? []).map((figures) => ({
    what: `life of a task with ${figures.workers === 1 ? 'one worker' : `${figures.workers} workers`}, all processes`,
    ...{ value: msOfTask(figures), unit: 'ms', source: '`npm run bench -- processes/steady`' },
  })),
]
