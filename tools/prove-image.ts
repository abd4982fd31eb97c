/**
 * `npm run prove:image`: builds the image and runs all services of compose.yaml as containers, with their networks and
 * restrictions, as `kinora init` writes them. Makes a video and a speech through them, kills and restarts each container
 * while a video is made, and tries to leave the sandbox from inside the image.
 *
 * Needs root, and podman, buildah, runc, netavark, aardvark-dns, catatonit and mmdebstrap of Debian. There is no access to
 * an image registry: base images are made from Debian's packages, PostgreSQL and Redis too, and Restate from npm.
 */
import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseEnv } from 'node:util'

import { parse } from 'yaml'

import { choosePorts } from '../cli/src/dev/free-port.ts'
import { buildNodeImage, importDebian } from './image/base-image.ts'
import { interpolate, runParameters, type Service } from './image/compose-service.ts'
import { buildImage, podman, prefix, removeAll, runOptions } from './image/podman.ts'

const root = join(import.meta.dirname, '..')
const work = await mkdtemp(join(tmpdir(), 'kinora-prove-image-'))
const image = (name: string) => `localhost/${prefix}-${name}`
const say = (text: string) => process.stdout.write(`${text}\n`)

const step = async <Value>(title: string, run: () => Promise<Value>): Promise<Value> => {
  const startedMs = performance.now()
  const value = await run()
  say(`✓ ${title} (${((performance.now() - startedMs) / 1000).toFixed(1)} s)`)
  return value
}

const buildFrom = async (name: string, text: string, files: Record<string, string> = {}): Promise<void> => {
  const folder = join(work, name)
  await mkdir(folder)
  await writeFile(join(folder, 'Dockerfile'), text)
  for (const [file, source] of Object.entries(files))
    await cp(source, join(folder, file), { recursive: true, dereference: true })
  await buildImage(image(name), folder)
}

const apt = (names: string) =>
  `RUN apt-get update && apt-get install --yes --no-install-recommends ${names} && apt-get clean && rm -rf /var/lib/apt/lists/*`

/** What stands for the images that compose.yaml names. */
const buildBaseImages = async () => {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'
  const debian = image('debian')
  await importDebian(debian, { architecture, archive: process.env['ROOT_FILE_SYSTEM'] }, work)
  await buildNodeImage(image('node'), { debian, architecture, node: process.execPath }, work)
  await buildFrom(
    'postgres',
    `FROM ${image('debian')}\n${apt('postgresql')}\nRUN rm -rf /var/lib/postgresql/* && mkdir /var/lib/postgresql/data\nENV PGHOST=/tmp\nCOPY entrypoint.sh /\nENTRYPOINT ["/entrypoint.sh"]`,
    { 'entrypoint.sh': join(root, 'tools/image/postgres-entrypoint.sh') },
  )
  await buildFrom('redis', `FROM ${image('debian')}\n${apt('redis-server')}`)
  await buildFrom(
    'restate',
    `FROM ${image('debian')}\nCOPY restate-server /usr/local/bin/\nENTRYPOINT ["restate-server"]`,
    {
      'restate-server': join(
        root,
        `node_modules/@restatedev/restate-server-linux-${process.arch}/bin/restate-server`,
      ),
    },
  )
}

const until = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
  const endMs = performance.now() + 180_000
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`waited in vain until ${what}`)
    await sleep(200)
  }
}

/** The services as `kinora init` writes them, with the images that were built here. */
const readServices = async (directory: string, port: number) => {
  execFileSync(
    process.execPath,
    [join(root, 'cli/src/kinora.ts'), 'init', directory, '--url', `http://127.0.0.1:${port}`],
    { env: { PATH: process.env['PATH'] } },
  )
  const variables = parseEnv(await readFile(join(directory, '.env'), 'utf8'))
  const text = interpolate(await readFile(join(directory, 'compose.yaml'), 'utf8'), {
    ...variables,
    KINORA_IMAGE: image('kinora'),
    KINORA_CPUS: '2',
  })
  const { services, networks, volumes } = parse(text, { merge: true }) as {
    services: Record<string, Service>
    networks: Record<string, { internal?: boolean } | null>
    volumes: Record<string, null>
  }
  for (const name of ['postgres', 'redis', 'restate']) {
    const service = services[name]
    if (service !== undefined) services[name] = { ...service, image: image(name) }
  }
  const { api } = services
  if (api !== undefined) api.ports = [`127.0.0.1:${port}:8787`]
  return { services, networks, volumes }
}

const containerOf = (name: string) => `${prefix}-${name}`

const isHealthy = async (name: string, { healthcheck }: Service): Promise<boolean> => {
  const [kind, ...command] = healthcheck?.test ?? []
  if (kind !== 'CMD') return true
  await podman('exec', containerOf(name), ...command)
  return true
}

const startServices = async (services: Record<string, Service>, directory: string) => {
  const started = new Set<string>()
  const start = async (name: string): Promise<void> => {
    const service = services[name]
    if (service === undefined || started.has(name)) return
    started.add(name)
    for (const [needed, { condition }] of Object.entries(service.depends_on ?? {})) {
      await start(needed)
      const other = services[needed]
      if (condition === 'service_healthy' && other !== undefined)
        await until(`${needed} is healthy`, () => isHealthy(needed, other))
      if (condition === 'service_completed_successfully') {
        const code = await podman('wait', containerOf(needed))
        if (code !== '0')
          throw new Error(`${needed} ended with ${code}: ${await podman('logs', containerOf(needed))}`)
      }
    }
    const parameters = runParameters(name, service, directory)
    await podman(
      ...['run', '--detach', '--name', containerOf(name), ...runOptions, ...parameters],
      ...[service.image, ...(service.command ?? [])],
    )
  }
  for (const [name, { profiles }] of Object.entries(services)) if (profiles === undefined) await start(name)
}

const call = async (url: string, key: string, body?: unknown, headers: Record<string, string> = {}) => {
  const response = await fetch(url, {
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
  })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return response
}

const json = async (response: Promise<Response>) => (await (await response).json()) as Record<string, unknown>

const order = { model: 'vidB-2', prompt: 'A whale at sunset', seconds: 4, size: '480x480' }

const finishVideo = async (url: string, key: string, id: string): Promise<string> => {
  let task: Record<string, unknown> = {}
  await until(`task ${id} has ended`, async () => {
    task = await json(call(`${url}/v1/videos/${id}`, key, undefined, { prefer: 'wait=20' }))
    return task['status'] === 'completed' || task['status'] === 'failed'
  })
  if (task['status'] !== 'completed') throw new Error(JSON.stringify(task))
  return String(task['video_url'])
}

const probe = async (name: string, response: Promise<Response>): Promise<string> => {
  const path = join(work, name)
  await writeFile(path, Buffer.from(await (await response).arrayBuffer()))
  const entries = 'format=duration:stream=codec_name,width,height'
  const show = ['-v', 'error', '-show_entries', entries, '-of', 'compact=p=0', path]
  return execFileSync('ffprobe', show, { encoding: 'utf8' }).trim().replaceAll('\n', ', ')
}

/** The attempts of the tests of the sandbox, from their source, with the programs and restrictions of the image. */
const attemptEscapes = async (api: Service, directory: string): Promise<string> => {
  const { networks: _networks, ports: _ports, volumes: _volumes, ...restricted } = api
  const parameters = runParameters('escape', { ...restricted, entrypoint: ['node'] }, directory)
  return podman(
    ...['run', '--rm', ...runOptions, '--network', 'none', ...parameters, '--volume', `${root}:/source:ro`],
    ...[api.image, '/source/sandbox/test/attempt-escapes.ts'],
  )
}

const prove = async () => {
  await step('base images built from Debian packages', buildBaseImages)
  await step('image built from the Dockerfile', () =>
    buildImage(image('kinora'), root, ['--build-arg', `BASE_IMAGE=${image('node')}`]),
  )
  const sizeBytes = Number(await podman('image', 'inspect', '--format', '{{.Size}}', image('kinora')))
  say(
    `  size ${(sizeBytes / 1e6).toFixed(0)} MB, of which base image ${(Number(await podman('image', 'inspect', '--format', '{{.Size}}', image('node'))) / 1e6).toFixed(0)} MB`,
  )
  const { api: port } = await choosePorts(join(work, 'ports.json'), ['api'])
  const url = `http://127.0.0.1:${port}`
  const directory = join(work, 'compose')
  const { services, networks, volumes } = await readServices(directory, port)
  const { api } = services
  if (api === undefined) throw new Error('compose.yaml has no api')
  for (const [name, network] of Object.entries(networks))
    await podman(
      'network',
      'create',
      ...(network?.internal === true ? ['--internal'] : []),
      `${prefix}-${name}`,
    )
  for (const name of Object.keys(volumes)) await podman('volume', 'create', `${prefix}-${name}`)
  await step('all services started in order', async () => {
    await startServices(services, directory)
    await until('the API is ready', async () => (await fetch(`${url}/readyz`)).ok)
  })

  const operatorKey = await podman('exec', containerOf('api'), 'kinora', 'admin', 'create')
  const account = await json(call(`${url}/admin/v1/accounts`, operatorKey, { name: 'proof' }))
  const accountUrl = `${url}/admin/v1/accounts/${String(account['id'])}`
  const payment = { amount_micros: 100_000_000, reason: 'proof', reference: 'proof' }
  await call(`${accountUrl}/top-ups`, operatorKey, payment)
  const created = await json(call(`${accountUrl}/keys`, operatorKey, { kind: 'payg', name: 'proof' }))
  const key = String(created['secret'])
  const createVideo = async () => String((await json(call(`${url}/v1/videos`, key, order)))['id'])

  await step('video made through the containers', async () => {
    const link = await finishVideo(url, key, await createVideo())
    say(`  ${await probe('video.mp4', fetch(link))}`)
  })
  await step('speech made through the containers', async () => {
    const speech = { model: 'chat-4o-mini-tts-2025-12-15', voice: 'nova', input: 'Hello from a container.' }
    say(`  ${await probe('speech.mp3', call(`${url}/v1/audio/speech`, key, speech))}`)
  })
  const running = Object.entries(services).filter(
    ([, service]) => service.restart !== 'no' && service.profiles === undefined,
  )
  for (const [name] of running) {
    await step(`${name} killed and restarted while a video was made`, async () => {
      const id = await createVideo()
      await podman('kill', containerOf(name))
      await podman('start', containerOf(name))
      await until('the API is ready', async () => (await fetch(`${url}/readyz`)).ok)
      await finishVideo(url, key, id)
    })
  }
  await step('ledger audited', () => podman('exec', containerOf('api'), 'kinora', 'audit'))
  await step('no attempt to leave the sandbox succeeded', () => attemptEscapes(api, directory))
}

try {
  await removeAll()
  await prove()
  say('The image works.')
} catch (error) {
  process.exitCode = 1
  say(`✗ ${error instanceof Error ? error.message : String(error)}`)
  for (const name of ['migrate', 'api', 'worker', 'local', 'restate', 'postgres'])
    say(
      `--- ${name}\n${(await podman('logs', '--tail', '15', containerOf(name)).catch(String)).slice(-3_000)}`,
    )
} finally {
  await removeAll()
  await rm(work, { recursive: true, force: true })
}
