/** Where a program runs: on this machine, or in a network namespace of its own. */
export interface Place {
  /** The address of the machine. */
  address: string
  /** The beginning of a command line, which runs the rest there. */
  prefix: readonly string[]
}

export const thisMachine: Place = { address: '127.0.0.1', prefix: [] }

export type Line = readonly [string, ...string[]]

export const lineAt = ({ prefix }: Place, line: Line): Line => [...prefix, ...line] as unknown as Line

/** Runs as another user, and still ends with this process: the change of the user has switched that off. */
export const lineAs = (owner: { uid: number; gid: number } | undefined, line: Line): Line =>
  owner === undefined
    ? line
    : [
        ...(['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', '--'] as const),
        ...(['setpriv', '--pdeathsig', 'KILL', '--'] as const),
        ...line,
      ]
