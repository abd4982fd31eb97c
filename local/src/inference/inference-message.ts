/** What the provider and the process of a model say to each other. */

/** `more` lets the run go on by one piece; a run starts with a few of them in hand. */
export type ToModel<Task> =
  | { type: 'run'; run: number; task: Task }
  | { type: 'more'; run: number }
  | { type: 'stop'; run: number }

export type FromModel<Piece> =
  | { type: 'chunk'; run: number; chunk: Piece }
  | { type: 'end'; run: number }
  | { type: 'failed'; run: number; message: string; code: string | undefined }

/** How many pieces may be under way to a reader that has not asked for them yet. */
export const chunksAhead = 2
