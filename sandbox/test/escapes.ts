/**
 * Attempts to break out of the sandbox, as Perl scripts that take the place of a media program. Each prints `escaped` if
 * it succeeds. All of them are bounded, so that a missing sandbox does no harm.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface EscapeTarget extends AsyncDisposable {
  /** A directory like the media directory: the file to decode, and another that the program must not see. */
  directory: string
  file: string
  secret: string
  port: number
  /** The connections that reached the server outside of the sandbox. */
  connections: () => number
}

export interface Escape {
  title: string
  script: (target: EscapeTarget) => string
  /** Whether the attempt succeeds without a sandbox for any user, which shows that it tests something. */
  worksOutside: boolean
}

export const perl = '/usr/bin/perl'

/** Numbers of system calls that Perl has no function for. */
const unshareNumber = process.arch === 'arm64' ? 97 : 272
const newUserNamespace = 0x10000000

const read = (path: string) => `print open(my $in, '<', '${path}') ? 'escaped' : "contained: $!"`

const writeTo = (paths: string[]) =>
  `for (qw(${paths.join(' ')})) { if (open(my $out, '>>', $_)) { print "escaped to $_ " } } print 'tried all'`

export const escapes: Escape[] = [
  { title: 'reads /etc/passwd', script: () => read('/etc/passwd'), worksOutside: true },
  {
    title: 'reads another file of the media directory',
    script: ({ secret }) => read(secret),
    worksOutside: true,
  },
  {
    title: 'reads the environment of the service',
    script: () => read(`/proc/${process.pid}/environ`),
    worksOutside: true,
  },
  {
    title: 'writes to the file system or to shared memory',
    script: () => writeTo(['/escape', '/usr/escape', '/dev/escape', '/dev/shm/escape', '/var/escape']),
    worksOutside: false,
  },
  {
    title: 'connects to a server on this machine',
    script: ({ port }) =>
      `use Socket; my $s; print socket($s, PF_INET, SOCK_STREAM, 0) && connect($s, pack_sockaddr_in(${port}, INADDR_LOOPBACK)) ? 'escaped' : "contained: $!"`,
    worksOutside: true,
  },
  {
    title: 'opens a socket of any kind',
    script: () =>
      `use Socket; for my $f (PF_INET, PF_UNIX, 16) { print 'escaped ' if socket(my $s, $f, SOCK_DGRAM, 0) } print 'tried all'`,
    worksOutside: true,
  },
  {
    title: 'sends a signal to the service or another process',
    // In a container the service may have the id 1, which the first process in the sandbox also has.
    script: () =>
      `for my $pid (2 .. 1000, ${process.pid}) { next if $pid == 1 || $pid == $$; print "escaped to $pid " if kill(0, $pid) } print 'tried all'`,
    worksOutside: true,
  },
  {
    title: 'starts processes',
    script: () =>
      `my $n = 0; for (1 .. 100) { my $pid = fork; if (!defined $pid) { last } if ($pid == 0) { sleep 1; exit } $n++ } print $n > 0 ? "escaped $n times" : "contained: $!"`,
    worksOutside: true,
  },
  {
    title: 'leaves its session, which has a low priority and no terminal',
    script: () => `use POSIX 'setsid'; print setsid() > 0 ? 'escaped' : "contained: $!"`,
    worksOutside: true,
  },
  {
    title: 'creates a user namespace, in which it would have capabilities',
    script: () => `print syscall(${unshareNumber}, ${newUserNamespace}) == 0 ? 'escaped' : "contained: $!"`,
    worksOutside: false,
  },
  {
    title: 'uses 5 GiB of memory',
    // Untouched pages of the string take no memory, so this is harmless outside of the sandbox.
    script: () => `my $n = 5 * 2**30; my $text = ''; vec($text, $n, 8) = 1; print 'escaped'`,
    worksOutside: false,
  },
]

export const openTarget = async (): Promise<EscapeTarget> => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-escape-'))
  const [file, secret] = [join(directory, 'video'), join(directory, 'secret')]
  await writeFile(file, 'not a video')
  await writeFile(secret, 'a secret')
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.on('error', () => undefined).end()
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    ...{ directory, file, secret },
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
