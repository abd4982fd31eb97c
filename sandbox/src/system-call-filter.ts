/**
 * The system calls that a program in the sandbox may not make, as a seccomp filter. It may start threads but no
 * processes, so that limits of a process are limits of the sandbox. It may also not open sockets, create namespaces (in
 * which it would have capabilities), mount, trace, or use other large interfaces of the kernel that no media program needs.
 */

interface Architecture {
  /** AUDIT_ARCH of the kernel. */
  audit: number
  clone: number
  denied: number[]
}

/** The numbers that all architectures share. */
const clone3 = 435
const deniedEverywhere = [
  ...[425, 426, 427], // io_uring_setup, io_uring_enter, io_uring_register
  ...[428, 429, 430, 431, 432, 433, 442], // open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr
  447, // memfd_secret
]

const architectures: Partial<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    denied: [
      ...[57, 58], // fork, vfork
      ...[41, 53], // socket, socketpair
      ...[272, 308], // unshare, setns
      112, // setsid: a new session would have the usual priority
      ...[165, 166, 155], // mount, umount2, pivot_root
      ...[101, 310, 311], // ptrace, process_vm_readv, process_vm_writev
      ...[321, 298, 323], // bpf, perf_event_open, userfaultfd
      ...[248, 249, 250], // add_key, request_key, keyctl
      319, // memfd_create
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    denied: [
      ...[198, 199], // socket, socketpair
      ...[97, 268], // unshare, setns
      157, // setsid
      ...[40, 39, 41], // mount, umount2, pivot_root
      ...[117, 270, 271], // ptrace, process_vm_readv, process_vm_writev
      ...[280, 241, 282], // bpf, perf_event_open, userfaultfd
      ...[217, 218, 219], // add_key, request_key, keyctl
      279, // memfd_create
    ],
  },
}

// Opcodes of classic BPF, and offsets in `struct seccomp_data`.
const load = 0x20
const jumpIfEqual = 0x15
const jumpIfAtLeast = 0x35
const jumpIfBitSet = 0x45
const answer = 0x06
const systemCallAt = 0
const architectureAt = 4
const firstArgumentAt = 16

const allow = 0x7fff0000
const refuse = 0x00050001 // EPERM
const unknownCall = 0x00050026 // ENOSYS; the C library then uses `clone`.
const threadFlag = 0x00010000 // CLONE_THREAD
/** System calls of the x32 ABI have this bit and other numbers. */
const x32Bit = 0x40000000

type Instruction = [code: number, ifTrue: number, ifFalse: number, value: number]

/** The filter for a processor architecture as Node names it; undefined if there is none. */
export const systemCallFilter = (architecture: string): Buffer | undefined => {
  const known = architectures[architecture]
  if (known === undefined) return undefined
  const denied = [...deniedEverywhere, ...known.denied]
  const program: Instruction[] = [
    [load, 0, 0, architectureAt],
    [jumpIfEqual, 1, 0, known.audit],
    [answer, 0, 0, refuse],
    [load, 0, 0, systemCallAt],
    [jumpIfAtLeast, 0, 1, x32Bit],
    [answer, 0, 0, refuse],
    [jumpIfEqual, 0, 1, clone3],
    [answer, 0, 0, unknownCall],
    ...denied.flatMap((number): Instruction[] => [
      [jumpIfEqual, 0, 1, number],
      [answer, 0, 0, refuse],
    ]),
    [jumpIfEqual, 1, 0, known.clone],
    [answer, 0, 0, allow],
    [load, 0, 0, firstArgumentAt],
    [jumpIfBitSet, 0, 1, threadFlag],
    [answer, 0, 0, allow],
    [answer, 0, 0, refuse],
  ]
  const bytes = Buffer.alloc(program.length * 8)
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(ifTrue, index * 8 + 2)
    bytes.writeUInt8(ifFalse, index * 8 + 3)
    bytes.writeUInt32LE(value, index * 8 + 4)
  }
  return bytes
}
