/**
 * The whole service on a PostgreSQL cluster of its own that logs every statement, and everything that it has stored or logged.
 */
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtempDisposable, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { GetObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3'

import { startVendor } from '../../../dev/vendor/vendor.ts'
import { findProgram } from '../../src/backup/postgres-programs.ts'
import { createLog } from '../../src/platform/log.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { connectPostgres } from '../../src/platform/postgres.ts'
import { startBucket, type BucketPart } from '../faults/bucket-part.ts'
import { createPostgresCluster, findInstalled } from '../faults/postgres-cluster.ts'
import { reservePorts } from './reserve-ports.ts'
import { startStack, type Stack } from './stack.ts'
import { vendorKey } from './vendor-gateway.ts'

const run = promisify(execFile)
const dumpBytesMax = 1_000_000_000

/** The documented settings of PostgreSQL, and a log of everything that it may log with them. */
const logSettings = [
  ...['log_error_verbosity=terse', 'log_parameter_max_length=0', 'log_parameter_max_length_on_error=0'],
  ...['log_statement=all', 'log_min_duration_statement=0', 'log_min_messages=info'],
  'fsync=off',
]

export interface LoggedStack extends Stack {
  /** The contents of every place where the service, its database and its engine write. */
  readPlaces: () => Promise<Record<string, Buffer[]>>
  /** Advances the clock of the database for connections that begin from now on. */
  advance: (days: number) => Promise<void>
}

const filesBelow = async (directory: string): Promise<Buffer[]> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Promise.all(
    // A file may be removed meanwhile.
    files.map((file) => readFile(join(file.parentPath, file.name)).catch(() => Buffer.alloc(0))),
  )
}

const dump = async (url: string): Promise<Buffer> => {
  const [, version] = /postgresql\/(\d+)$/.exec(await findInstalled()) ?? []
  const program = await findProgram('pg_dump', Number(version))
  const { stdout } = await run(program.path, ['--no-owner', url], {
    encoding: 'buffer',
    maxBuffer: dumpBytesMax,
  })
  return stdout
}

const objectsIn = async ({ ceph: { endpoint, accessKeyId, secretAccessKey } }: BucketPart) => {
  const client = new S3Client({
    ...{ endpoint, region: 'us-east-1', forcePathStyle: true },
    credentials: { accessKeyId, secretAccessKey },
  })
  const objects: Buffer[] = []
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket: 'faults' })) {
    for (const { Key } of Contents) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: 'faults', Key }))
      objects.push(Buffer.from(Key ?? ''), Buffer.from((await Body?.transformToByteArray()) ?? []))
    }
  }
  client.destroy()
  return objects
}

export const startLoggedStack = async (store: 'directory' | 'bucket'): Promise<LoggedStack> => {
  await using started = new AsyncDisposableStack()
  const { path: directory } = started.use(await mkdtempDisposable(join(tmpdir(), 'kinora-logged-')))
  // The user of the server has to reach its cluster in it.
  await chmod(directory, 0o711)
  const logDirectory = join(directory, 'logs')
  await mkdir(logDirectory)
  const { postgres: port } = await reservePorts(directory, ['postgres'])
  const cluster = await createPostgresCluster(
    directory,
    port,
    logDirectory,
    logSettings,
    await findInstalled(),
  )
  started.defer(() => cluster.kill('SIGINT'))
  const postgres = connectPostgres(
    { url: cluster.url, connectionsMax: 4 },
    createLog({ level: 'silent' }, 'test'),
  )
  started.defer(() => postgres.close())
  await migrate(postgres)
  const vendor = started.adopt(await startVendor({ apiKey: vendorKey }), (each) => each.close())
  const bucket = store === 'bucket' ? started.use(await startBucket(directory)) : undefined
  const database = { url: cluster.url, postgres, [Symbol.asyncDispose]: async () => undefined }
  const stack = started.use(
    await startStack({
      existing: { database, vendor },
      ...(bucket !== undefined && { environment: bucket.environment }),
    }),
  )
  const owned = started.move()
  return {
    ...stack,
    readPlaces: async () => ({
      database: [await dump(cluster.url)],
      media: [
        ...(await filesBelow(join(stack.directory, 'media'))),
        ...(bucket === undefined ? [] : await objectsIn(bucket)),
      ],
      logs: await filesBelow(join(stack.directory, 'logs')),
      'log of PostgreSQL': await filesBelow(logDirectory),
      engine: await filesBelow(join(stack.directory, 'restate')),
    }),
    advance: async (days) => {
      for (const clock of ['now', 'clock_timestamp']) {
        await postgres.query(
          `create function ${clock}() returns timestamptz language sql stable
             as 'select pg_catalog.${clock}() + interval ''${days} days'''`,
        )
      }
      await postgres.query('alter database kinora set search_path to public, pg_catalog')
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
