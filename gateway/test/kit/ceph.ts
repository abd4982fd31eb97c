/** Ceph's S3 gateway, with its objects in memory. A monitor, one OSD and the gateway are children of this process. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'

import { endingWithUs } from '../../../cli/src/dev/foreign-process.ts'
import { lineAt, thisMachine, type Place } from '../cluster/machine-line.ts'
import { reservePorts } from './reserve-ports.ts'

const run = promisify(execFile)
const attemptEveryMs = 100
const attemptsMax = 3_000

/** The id of a key for server-side encryption. */
export const encryptionKey = 'key-of-tests'

/** How many objects a page of a list has, so that a list of several pages is short. */
export const listMax = 250

/** A short interval of the monitor, because every new pool waits for several of its rounds. */
const createSettings = (directory: string, address: string, monitorPort: number, fsid: string) => `[global]
fsid = ${fsid}
mon host = v2:${address}:${monitorPort}
ms bind msgr1 = false
public addr = ${address}
cluster addr = ${address}
auth allow insecure global id reclaim = false
paxos propose interval = 0.02
paxos min wait = 0.01
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon warn on pool no redundancy = false
mon max pg per osd = 1000
mon data avail warn = 1
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 17179869184
run dir = ${directory}/run
admin socket = ${directory}/run/$name.$pid.asok
log file = ${directory}/$name.log
pid file = ${directory}/run/$name.pid
mon data = ${directory}/mon
osd data = ${directory}/osd
keyring = ${directory}/keyring
rgw enable apis = s3
rgw thread pool size = 64
rgw bucket quota ttl = 1
rgw max listing results = ${listMax}
rgw crypt require ssl = false
rgw crypt s3 kms backend = testing
rgw crypt s3 kms encryption keys = ${encryptionKey}=${randomBytes(32).toString('base64')}
[osd]
keyring = ${directory}/osd.keyring
`

const until = async (what: string, isTrue: () => Promise<boolean>, child: ChildProcess): Promise<void> => {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`Ceph ended before ${what}`)
    if (await isTrue().catch(() => false)) return
    await wait(attemptEveryMs)
  }
  throw new Error(`Ceph did not start: not ${what}`)
}

const assertInstalled = () =>
  run('radosgw', ['--version']).catch((error: unknown) => {
    throw new Error(
      'Tests of the S3 store need Ceph: apt-get install --no-install-recommends radosgw ceph-mon ceph-osd',
      { cause: error },
    )
  })

export interface Ceph {
  endpoint: string
  accessKeyId: string
  secretAccessKey: string
  /** Runs `radosgw-admin` for the user of the credentials. */
  administer: (...parameters: string[]) => Promise<void>
  killGateway: () => Promise<void>
  startGateway: () => Promise<void>
  stop: () => Promise<void>
}

export const startCeph = async (directory: string, place: Place = thisMachine): Promise<Ceph> => {
  await assertInstalled()
  const children: ChildProcess[] = []
  const { s3, monitor } = await reservePorts(directory, ['s3', 'monitor'])
  const fsid = randomUUID()
  for (const folder of ['mon', 'osd', 'run']) await mkdir(join(directory, folder))
  await writeFile(join(directory, 'ceph.conf'), createSettings(directory, place.address, monitor, fsid))
  const env = { ...process.env, CEPH_CONF: join(directory, 'ceph.conf') }
  const ceph = async (...line: [string, ...string[]]) => {
    const [program, ...parameters] = lineAt(place, line)
    return (await run(program, parameters, { env })).stdout
  }
  const start = (...[name, ...words]: [string, ...string[]]) => {
    const [program, ...parameters] = endingWithUs(lineAt(place, [name, '-f', ...words]), 'SIGKILL', env)
    const child = spawn(program, parameters, { env, stdio: 'ignore' })
    children.push(child)
    return child
  }
  const keyring = join(directory, 'keyring')
  const osdKeyring = join(directory, 'osd.keyring')
  const map = join(directory, 'monmap')
  const address = `[v2:${place.address}:${monitor}]`
  const everything = ['--cap', 'mon', 'allow *']

  await ceph('ceph-authtool', '--create-keyring', keyring, '--gen-key', '-n', 'mon.', ...everything)
  await ceph(
    ...(['ceph-authtool', keyring, '--gen-key', '-n', 'client.admin', ...everything] as const),
    ...(['--cap', 'osd', 'allow *', '--cap', 'mgr', 'allow *'] as const),
  )
  await ceph('monmaptool', '--create', '--clobber', '--fsid', fsid, '--addv', 'a', address, map)
  await ceph('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map, '--keyring', keyring)
  start('ceph-mon', '-i', 'a', '--public-addrv', address)
  const osdId = randomUUID()
  await ceph('ceph', 'osd', 'new', osdId)
  await ceph('ceph-authtool', '--create-keyring', osdKeyring, '--gen-key', '-n', 'osd.0')
  const rights = ['osd', 'allow *', 'mon', 'allow profile osd', 'mgr', 'allow profile osd']
  await ceph('ceph', 'auth', 'add', 'osd.0', ...rights, '-i', osdKeyring)
  await ceph('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', osdId)
  await ceph('ceph', 'osd', 'crush', 'add', 'osd.0', '1.0', 'root=default', 'host=localhost')
  const osd = start('ceph-osd', '-i', '0')
  await until('the OSD is up', async () => (await ceph('ceph', 'osd', 'stat')).includes('1 up'), osd)
  const endpoint = `http://${place.address}:${s3}`
  let gateway: ChildProcess
  const startGateway = async () => {
    gateway = start(
      'radosgw',
      '-n',
      'client.admin',
      '--rgw-frontends',
      `beast endpoint=${place.address}:${s3}`,
    )
    await until('the gateway responds', async () => (await fetch(endpoint)).ok, gateway)
  }
  const end = async (child: ChildProcess) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await startGateway()
  const [accessKeyId, secretAccessKey] = ['TESTKEY', randomUUID()]
  const administer = async (...parameters: string[]) => {
    await ceph('radosgw-admin', ...parameters, '--uid=test')
  }
  await administer(
    ...['user', 'create', '--display-name=test'],
    ...[`--access-key=${accessKeyId}`, `--secret-key=${secretAccessKey}`],
  )
  return {
    ...{ endpoint, accessKeyId, secretAccessKey, administer, startGateway },
    killGateway: () => end(gateway),
    // The gateway first; an OSD does not end without its monitor unless it is killed.
    stop: async () => {
      for (const child of children.toReversed()) await end(child)
    },
  }
}
