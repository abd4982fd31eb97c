/** The environment variables of the command line. The settings of the service are read in gateway/src/config.ts. */
import { homedir } from 'node:os'
import { join } from 'node:path'

const read = (name: string): string | undefined => {
  const value = process.env[name]?.trim()
  return value === '' ? undefined : value
}

/** The variables that name a service, in the order of preference. */
const serviceVariables = [
  { url: 'KINORA_URL', key: 'KINORA_API_KEY' },
  { url: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY' },
] as const

export const readServiceVariables = () =>
  serviceVariables.map(({ url, key }) => ({ names: { url, key }, url: read(url), key: read(key) }))

export const readOperatorVariables = () => ({ url: read('KINORA_URL'), key: read('OPERATOR_KEY') })

export const readProfileName = (): string | undefined => read('KINORA_PROFILE')

/** The directory of the profiles: that of the XDG base directories, also on macOS. */
export const configDirectory = (): string =>
  join(read('XDG_CONFIG_HOME') ?? join(homedir(), '.config'), 'kinora')

/** What the terminal says about itself. */
export const readTerminal = () => ({
  term: read('TERM') ?? '',
  program: read('TERM_PROGRAM') ?? '',
  isKitty: read('KITTY_WINDOW_ID') !== undefined,
  isMultiplexed: read('TMUX') !== undefined || /^(screen|tmux)/.test(read('TERM') ?? ''),
  hasDesktop:
    process.platform === 'darwin' ||
    process.platform === 'win32' ||
    read('DISPLAY') !== undefined ||
    read('WAYLAND_DISPLAY') !== undefined,
  isSsh: read('SSH_CONNECTION') !== undefined,
  isCi: read('CI') !== undefined,
})
