/** Opens a file or an address with the program that the desktop has for it. */
import { spawn } from 'node:child_process'
import { resolve as resolvePath } from 'node:path'

import { readTerminal } from '../connection/environment.ts'

const programs: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
}

/** Whether a window can appear where the person sits. */
export const canOpen = (): boolean => {
  const { hasDesktop, isSsh } = readTerminal()
  return hasDesktop && !isSsh
}

/** Returns whether the program was started. Does not wait for it. */
const start = (target: string): Promise<boolean> => {
  const [program, ...parameters] = programs[process.platform] ?? ['xdg-open']
  return new Promise((resolve) => {
    const child = spawn(program, [...parameters, target], { detached: true, stdio: 'ignore' })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}

/** A file that begins with a hyphen is not an option. */
export const openFile = (file: string): Promise<boolean> => start(resolvePath(file))

/** The link of a service. Anything but a web page, such as a program of this machine, is not opened. */
export const openLink = async (link: string): Promise<boolean> => {
  const { protocol, href } = URL.canParse(link) ? new URL(link) : {}
  return href !== undefined && (protocol === 'https:' || protocol === 'http:') && start(href)
}
