/**
 * `npm run prove:image`: builds the image and runs all services of compose.yaml as containers, with their networks and
 * restrictions, as `kinora init` writes them. Takes the documented first steps behind Caddy with TLS, with customers on
 * machines of their own. Makes a video and a speech, kills and restarts each container while a video is made, and tries to
 * leave the sandbox from inside the image. Then makes a video in the image with everything in one container.
 *
 * Needs root, and podman, buildah, runc, netavark, aardvark-dns, iptables, catatonit and mmdebstrap of Debian. There is no
 * access to an image registry: base images are made from Debian's packages, PostgreSQL, Redis and Caddy too, and Restate from
 * npm. `--skip-kills` leaves out the restarts.
 */
import { execFileSync } from 'node:child_process'
import { appendFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseEnv } from 'node:util'

import { parse } from 'yaml'

import { choosePorts } from '../cli/src/dev/free-port.ts'
import { buildNodeImage, importDebian } from './image/base-image.ts'
import { interpolate, runParameters, type Service } from './image/compose-service.ts'
import { buildImage, podman, prefix, removeAll, runOptions } from './image/podman.ts'
import { proveDevImage } from './image/prove-dev.ts'
import { addressLimit, createProxyProof, customersNetwork, publicName } from './image/prove-proxy.ts'
import { assertMachine } from './image/requirements.ts'

await assertMachine()
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
  // Without protected mode, like the official image.
  await buildFrom(
    'redis',
    `FROM ${image('debian')}\n${apt('redis-server')}\nENTRYPOINT ["sh", "-c", "exec \\"$@\\" --protected-mode no", "--"]`,
  )
  await buildFrom(
    'proxy',
    `FROM ${image('debian')}\n${apt('caddy')}\nENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config\nCMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]`,
  )
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

interface Network {
  internal?: boolean
  ipam?: { config: { subnet: string }[] }
}

const until = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
  const endMs = performance.now() + 180_000
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`waited in vain until ${what}`)
    await sleep(200)
  }
}

type Ports = Record<'api' | 'admin' | 'public' | 'redirect' | 'dev', number>

/** What an operator adds to the files of `kinora init`. */
const configure = async (directory: string) => {
  const offered = ['vidB-2', 'chat-4o-mini-tts-2025-12-15'].map((id) => `  ${id}: { provider: here }\n`)
  await appendFile(join(directory, 'config/kinora.yaml'), `models:\n${offered.join('')}`)
  await appendFile(
    join(directory, '.env'),
    `CADDY_OPTIONS=local_certs\nLIMIT_ADDRESS_PER_3_MINUTES=${addressLimit}\n`,
  )
}

/** The services as `kinora init` writes them, with the images that were built here. */
const readServices = async (directory: string, publicUrl: string, ports: Ports) => {
  execFileSync(process.execPath, [join(root, 'cli/src/kinora.ts'), 'init', directory, '--url', publicUrl], {
    env: { PATH: process.env['PATH'] },
  })
  await configure(directory)
  const variables = parseEnv(await readFile(join(directory, '.env'), 'utf8'))
  const text = interpolate(await readFile(join(directory, 'compose.yaml'), 'utf8'), {
    ...variables,
    KINORA_IMAGE: image('kinora'),
    KINORA_CPUS: '2',
  })
  const { services, networks, volumes } = parse(text, { merge: true }) as {
    services: Record<string, Service>
    networks: Record<string, Network | null>
    volumes: Record<string, null>
  }
  for (const name of ['postgres', 'redis', 'restate', 'proxy']) {
    const service = services[name]
    if (service !== undefined) services[name] = { ...service, image: image(name) }
  }
  const { api, proxy } = services
  if (api === undefined || proxy === undefined) throw new Error('compose.yaml has no api or no proxy')
  // This machine may use the ports of compose.yaml already.
  api.ports = [`127.0.0.1:${ports.api}:8787`, `127.0.0.1:${ports.admin}:8788`]
  proxy.ports = [`127.0.0.1:${ports.redirect}:80`, `127.0.0.1:${ports.public}:${ports.public}`]
  const profiles = variables['COMPOSE_PROFILES']?.split(',') ?? []
  const wanted = Object.entries(services).filter(
    ([, service]) =>
      service.profiles === undefined || service.profiles.some((each) => profiles.includes(each)),
  )
  return { services: Object.fromEntries(wanted), api, networks, volumes }
}

const createNetworks = async (networks: Record<string, Network | null>) => {
  for (const [name, network] of Object.entries(networks)) {
    const [range] = network?.ipam?.config ?? []
    await podman(
      ...['network', 'create', ...(network?.internal === true ? ['--internal'] : [])],
      ...[...(range === undefined ? [] : ['--subnet', range.subnet]), `${prefix}-${name}`],
    )
  }
  await podman('network', 'create', '--subnet', '10.87.0.0/24', customersNetwork)
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
    // The name of the public URL leads to the proxy, for customers and for `doctor`.
    const naming = name === 'proxy' ? ['--network', customersNetwork, '--network-alias', publicName] : []
    await podman(
      ...['run', '--detach', ...naming, '--name', containerOf(name), ...runOptions, ...parameters],
      ...[service.image, ...(service.command ?? [])],
    )
  }
  for (const name of Object.keys(services)) await start(name)
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
  const names = ['api', 'admin', 'public', 'redirect', 'dev'] as const
  const ports = await choosePorts(join(work, 'ports.json'), names)
  const url = `http://127.0.0.1:${ports.api}`
  const adminUrl = `http://127.0.0.1:${ports.admin}`
  const publicUrl = `https://${publicName}:${ports.public}`
  const directory = join(work, 'compose')
  const { services, api, networks, volumes } = await readServices(directory, publicUrl, ports)
  await createNetworks(networks)
  for (const name of Object.keys(volumes)) await podman('volume', 'create', `${prefix}-${name}`)
  await step('all services started in order', async () => {
    await startServices(services, directory)
    await until('the API is ready', async () => (await fetch(`${url}/readyz`)).ok)
  })

  const proxied = createProxyProof({
    ...{ root, work, directory, publicUrl, adminUrl, api, step, say },
    nodeImage: image('node'),
  })
  await until('Caddy has its authority', async () => {
    await proxied.readAuthority()
    return true
  })
  const operatorKey = await step('first operator key created as documented', proxied.createOperatorKey)
  const account = await json(call(`${adminUrl}/admin/v1/accounts`, operatorKey, { name: 'proof' }))
  const accountUrl = `${adminUrl}/admin/v1/accounts/${String(account['id'])}`
  const payment = { amount_micros: 100_000_000, reason: 'proof', reference: 'proof' }
  await call(`${accountUrl}/top-ups`, operatorKey, payment)
  const created = await json(call(`${accountUrl}/keys`, operatorKey, { kind: 'payg', name: 'proof' }))
  const key = String(created['secret'])
  const createVideo = async () => String((await json(call(`${url}/v1/videos`, key, order)))['id'])

  await proxied.prove(key, operatorKey)
  await step('video made through the containers', async () => {
    const id = await createVideo()
    await finishVideo(url, key, id)
    say(`  ${await probe('video.mp4', call(`${url}/v1/videos/${id}/content?variant=video`, key))}`)
  })
  await step('speech made through the containers', async () => {
    const speech = { model: 'chat-4o-mini-tts-2025-12-15', voice: 'nova', input: 'Hello from a container.' }
    say(`  ${await probe('speech.mp3', call(`${url}/v1/audio/speech`, key, speech))}`)
  })
  const running = Object.entries(services).filter(([, service]) => service.restart !== 'no')
  for (const [name] of process.argv.includes('--skip-kills') ? [] : running) {
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
  // Frees the memory for the next image.
  await removeAll()
  await proveDev(ports.dev)
}

const proveDev = async (port: number) => {
  await step('image with everything in one container built', () =>
    buildImage(image('dev'), root, ['--target', 'dev', '--build-arg', `BASE_IMAGE=${image('node')}`]),
  )
  await step('video made in one container', async () => {
    const link = await proveDevImage({
      ...{ image: image('dev'), port, until },
      finishVideo: async (url, key, given) =>
        finishVideo(url, key, String((await json(call(`${url}/v1/videos`, key, given)))['id'])),
    })
    say(`  ${link}`)
  })
}

try {
  await removeAll()
  await prove()
  say('The image works.')
} catch (error) {
  process.exitCode = 1
  say(`✗ ${error instanceof Error ? error.message : String(error)}`)
  for (const name of ['migrate', 'api', 'worker', 'local', 'restate', 'postgres', 'proxy', 'dev'])
    say(
      `--- ${name}\n${(await podman('logs', '--tail', '15', containerOf(name)).catch(String)).slice(-3_000)}`,
    )
} finally {
  await removeAll()
  await rm(work, { recursive: true, force: true })
}
