/** The command line is wrong: shown with a pointer to the help of the command. */
export class UsageError extends Error {
  /** The words of the command, once it is known. */
  words = ''
}
