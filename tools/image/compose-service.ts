/** Translates a service of compose.yaml into parameters of `podman run`, without leaving out any restriction. */
import { isAbsolute, join } from 'node:path'

import { prefix } from './podman.ts'

export interface Service {
  image: string
  command?: string[]
  entrypoint?: string[]
  environment?: Record<string, string>
  env_file?: string
  networks?: string[]
  network_mode?: 'none'
  ports?: string[]
  volumes?: string[]
  tmpfs?: string[]
  read_only?: boolean
  cap_drop?: string[]
  cap_add?: string[]
  security_opt?: string[]
  user?: string
  init?: boolean
  mem_limit: string
  pids_limit: number
  cpus: number | string
  shm_size?: string
  healthcheck?: { test?: string[]; disable?: boolean }
  depends_on?: Record<string, { condition: string }>
  profiles?: string[]
  restart?: string
  logging?: unknown
  stop_grace_period?: string
}

/** What has no meaning here: podman neither restarts nor rotates, and the health check is run by the caller. */
const ignored = [
  'image',
  'command',
  'restart',
  'logging',
  'stop_grace_period',
  'healthcheck',
  'depends_on',
  'profiles',
]

const translations: {
  [Field in keyof Service]?: (value: never, directory: string, name: string) => string[]
} = {
  entrypoint: (value: string[]) => ['--entrypoint', JSON.stringify(value)],
  environment: (value: Record<string, string>) =>
    Object.entries(value).flatMap(([name, text]) => ['--env', `${name}=${text}`]),
  env_file: (value: string, directory) => ['--env-file', join(directory, value)],
  networks: (value: string[], _, name) =>
    value.flatMap((network) => ['--network', `${prefix}-${network}:alias=${name}`]),
  network_mode: (value: string) => ['--network', value],
  ports: (value: string[]) => value.flatMap((port) => ['--publish', port]),
  volumes: (value: string[], directory) =>
    value.flatMap((volume) => {
      const [source = '', ...rest] = volume.split(':')
      const isPath = source.startsWith('.') || isAbsolute(source)
      return ['--volume', [isPath ? join(directory, source) : `${prefix}-${source}`, ...rest].join(':')]
    }),
  tmpfs: (value: string[]) => value.flatMap((each) => ['--tmpfs', each]),
  read_only: (value: boolean) => (value ? ['--read-only', '--read-only-tmpfs=false'] : []),
  cap_drop: (value: string[]) => value.flatMap((each) => ['--cap-drop', each]),
  cap_add: (value: string[]) => value.flatMap((each) => ['--cap-add', each]),
  security_opt: (value: string[], directory) =>
    value.flatMap((each) => [
      '--security-opt',
      each
        .replace('no-new-privileges:true', 'no-new-privileges')
        .replace('seccomp=', `seccomp=${directory}/`),
    ]),
  user: (value: string) => ['--user', value],
  init: (value: boolean) => (value ? ['--init'] : []),
  mem_limit: (value: string) => ['--memory', value],
  pids_limit: (value: number) => ['--pids-limit', String(value)],
  cpus: (value: number | string) => ['--cpus', String(value)],
  shm_size: (value: string) => ['--shm-size', value],
}

export const runParameters = (name: string, service: Service, directory: string): string[] =>
  Object.entries(service).flatMap(([field, value]) => {
    if (ignored.includes(field)) return []
    const translate = translations[field as keyof Service]
    // A restriction that is not understood must not be dropped silently.
    if (translate === undefined) throw new Error(`the field ${field} of ${name} cannot be translated`)
    return translate(value as never, directory, name)
  })

/** Replaces `${NAME}`, `${NAME-default}`, `${NAME:-default}` and `${NAME:?message}`. */
export const interpolate = (text: string, variables: Record<string, string | undefined>): string =>
  text.replace(/\$\{(\w+)(?:(-|:-|:\?)([^}]*))?\}/g, (_, name: string, kind?: string, rest?: string) => {
    const value = variables[name]
    if (value !== undefined && (value !== '' || kind === '-')) return value
    if (kind === '-' || kind === ':-') return rest ?? ''
    throw new Error(`${name} is not set: ${rest}`)
  })
