/** Options of every command that calls the service. */
export const serviceOptions = {
  json: { type: 'flag', summary: 'print the response as JSON' },
  profile: { type: 'text', value: 'name', summary: 'use this profile of kinora login' },
} as const

export const limitOption = {
  limit: { type: 'number', min: 1, max: 100, default: '20', summary: 'how many to show' },
} as const

/** What `video create` and `video remix` do with the result. */
export const resultOptions = {
  output: { type: 'text', short: 'o', value: 'file', summary: 'save the video in this file' },
  open: { type: 'flag', summary: 'open the finished video' },
  noOpen: { type: 'flag', summary: 'do not open or show the finished video' },
  noWait: { type: 'flag', summary: 'do not wait for the video; print its id' },
} as const
