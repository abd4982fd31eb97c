/**
 * The hosts that a server answers for; without any, it answers for all. A web page can point its own host name at an
 * address of this machine (DNS rebinding) and then call a local server as if it were its own origin, but the browser still
 * sends the name of the page in the Host header.
 */
export class AllowedHosts {
  readonly #names: string[]

  constructor(names: string[]) {
    this.#names = names.map((name) => name.toLowerCase())
  }

  /** Allows the host of a URL too, which is the server's own. */
  and(url: string): AllowedHosts {
    return this.#names.length === 0 ? this : new AllowedHosts([...this.#names, new URL(url).hostname])
  }

  /** The message that refuses a Host header; undefined if it names an allowed host, with or without a port. */
  problemWith(header = ''): string | undefined {
    const [, name = ''] = /^(\[[\da-f:.]+\]|[^:]+)(?::\d+)?$/i.exec(header) ?? []
    if (this.#names.length === 0 || this.#names.includes(name.toLowerCase())) return undefined
    return `This server does not answer for the host '${header.slice(0, 100)}'. Use its own address, or add the host to ALLOWED_HOSTS.`
  }
}
