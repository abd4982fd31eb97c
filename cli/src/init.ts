/** `kinora init`: writes the files with which one machine runs the service with Docker Compose. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { environmentWith } from '@kinora/gateway/config'

import { configFileFor } from './init/config-file.ts'
import { vendors } from './init/vendors.ts'

/** The folder has the same place in the source and in the package. */
const templates = new URL('../deploy/', import.meta.url)

const readTemplate = (name: string) => readFile(new URL(name, templates), 'utf8')

/** The variables that the compose file requires. Those that are not the public URL are secrets. */
const requiredVariables = (compose: string): Set<string> =>
  new Set([...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name))

/** The range of the network on which the proxy is. */
const trustedRange = (compose: string): string => {
  const [, range] = /\$\{TRUSTED_PROXIES-([^}]+)\}/.exec(compose) ?? []
  if (range === undefined) throw new Error('The compose file of this package trusts no proxy.')
  return range
}

const environmentFile = (
  compose: string,
  given: { url: string; image: string; keys: [string, string][] },
): string => {
  const secrets = [...requiredVariables(compose)].filter((name) => name !== 'PUBLIC_URL')
  const { protocol, port } = new URL(given.url)
  return [
    '# Keep this file secret, and keep a copy of it with your backups: without the secrets, the keys of your customers',
    '# and of your providers are lost.',
    '',
    '# The URL that clients use.',
    `PUBLIC_URL=${given.url}`,
    ...(protocol === 'https:'
      ? [
          '# Caddy serves this URL. Without this line, another proxy has to: let it forward to 127.0.0.1:8787.',
          'COMPOSE_PROFILES=proxy',
          ...(port === '' ? [] : [`PUBLIC_PORT=${port}`]),
        ]
      : []),
    '# Proxies that tell the addresses of clients: the network "front" of compose.yaml, on which Caddy is. A proxy on this',
    '# machine is there, too. If clients reach port 8787 without a proxy, leave the value empty.',
    `TRUSTED_PROXIES=${trustedRange(compose)}`,
    `KINORA_IMAGE=${given.image}`,
    'PROVIDERS_DIRECTORY=./config',
    '',
    ...secrets.map((name) => `${name}=${randomBytes(32).toString('hex')}`),
    ...(given.keys.length === 0 ? [] : ['', '# Found in the environment when this file was written.']),
    ...given.keys.map(([name, value]) => `${name}=${quoted(name, value)}`),
    '',
  ].join('\n')
}

/** The image is pulled and not built, because its sources are not in this folder. */
const composeFile = (compose: string): string => {
  const text = compose.replace(/^ +build: \.\n/m, '')
  if (text === compose) throw new Error('The compose file of this package names no build.')
  return text
}

const readUrl = (text: string): string => {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol)) return text.replace(/\/$/, '')
  throw new Error(`--url must be the URL that clients use, such as https://media.example.com, got "${text}".`)
}

/** In single quotes, every other character of an `.env` file stands for itself. */
const quoted = (name: string, value: string): string => {
  if (!/['\r\n]/.test(value)) return `'${value}'`
  throw new Error(
    `${name} contains a quotation mark or a line break, so it is not a key that .env could hold. Correct it, or leave it out: unset ${name}`,
  )
}

export const init = async (
  directory: string,
  { url, version }: { url: string; version: string },
): Promise<void> => {
  const publicUrl = readUrl(url)
  const environment = environmentWith({})
  const found = vendors.filter(({ variable }) => (environment[variable] ?? '') !== '')
  const compose = await readTemplate('compose.yaml')
  const files = [
    {
      name: '.env',
      about: 'secrets and settings; readable only by you',
      text: environmentFile(compose, {
        url: publicUrl,
        image: `kinora/kinora:${version}`,
        keys: found.map(({ variable }) => [variable, environment[variable] ?? '']),
      }),
      mode: 0o600,
    },
    { name: 'compose.yaml', about: 'all services', text: composeFile(compose) },
    { name: 'config/kinora.yaml', about: 'providers, models and prices', text: configFileFor(found) },
    {
      name: 'deploy/seccomp.json',
      about: 'system calls of the services that decode media',
      text: await readTemplate('seccomp.json'),
    },
    { name: 'deploy/Caddyfile', about: 'the proxy with TLS', text: await readTemplate('Caddyfile') },
    {
      name: 'deploy/create-database.sh',
      about: 'runs once in the database container',
      text: await readTemplate('create-database.sh'),
      mode: 0o755,
    },
  ]
  const present = files.map(({ name }) => join(directory, name)).filter((path) => existsSync(path))
  if (present.length > 0) {
    throw new Error(
      `Nothing was written, because ${present.join(' and ')} would be overwritten. Choose an empty directory: kinora init <directory>`,
    )
  }
  for (const { name, text, mode = 0o644 } of files) {
    const path = join(directory, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text, { mode, flag: 'wx' })
  }
  process.stdout.write(messageFor(directory, files, found, publicUrl))
}

const proxyMessage = (url: string): string =>
  url.startsWith('https:')
    ? `Caddy serves ${url} on the ports 80 and ${new URL(url).port || 443} of this machine, with a certificate that it obtains. The name must lead here.`
    : `The API is published on 127.0.0.1:8787, without TLS. For customers, give the URL that they will use: --url https://media.example.com`

const messageFor = (
  directory: string,
  files: { name: string; about: string }[],
  found: typeof vendors,
  url: string,
): string => {
  const list = files.map(({ name, about }) => `  ${name.padEnd(26)} ${about}\n`).join('')
  const keys =
    found.length === 0
      ? `No vendor key was found in the environment (${vendors.map(({ variable }) => variable).join(', ')}), so no model has a route yet, and none is offered. Add vendors and routes in config/kinora.yaml, or set OFFER_MODELS_WITHOUT_ROUTES=true in .env to serve all models with the built-in provider.\n`
      : found
          .map(({ name, variable, models }) =>
            Object.keys(models).length === 0
              ? `Found ${variable}: added the provider ${name}. Add routes to its models in config/kinora.yaml.\n`
              : `Found ${variable}: added the provider ${name} and routes for ${Object.keys(models).join(', ')}.\n`,
          )
          .concat('Models without a route are not offered.\n')
          .join('')
  const enter = directory === '.' ? '' : `  cd ${directory}\n`
  return `Wrote to ${directory}:
${list}
${keys}
Next:
${enter}  docker compose up --detach
  docker compose run --rm api admin create    # prints the first operator key
  docker compose run --rm api doctor          # checks everything and suggests fixes

${proxyMessage(url)}
The admin API is on http://127.0.0.1:8788 of this machine only; from elsewhere: ssh -L 8788:127.0.0.1:8788 <machine>
`
}
