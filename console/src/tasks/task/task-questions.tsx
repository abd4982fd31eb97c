/** What is asked before something is created, cancelled or deleted. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'

import { useReasons } from '../../errors/use-reasons.ts'
import { formatMoney, shortenId } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { queryClient } from '../../queries.ts'
import { kinora, kinoraAdmin } from '../../service.ts'
import { Note } from '../../ui/feedback.tsx'
import { Confirm } from '../../ui/sheet.tsx'
import { showToast } from '../../ui/toast.tsx'
import { prepareAgain, runAgain } from './run-again.ts'
import { refreshTask, taskKey, type TaskView } from './task-data.ts'
import { taskTexts } from './texts.ts'

export type Question = 'again' | 'cancel' | 'delete' | 'retry' | 'fail' | 'other'

interface QuestionProps {
  view: TaskView
  onClose: () => void
}

const useOpenTask = () => {
  const navigate = useNavigate()
  return (id: string) => {
    void queryClient.invalidateQueries({ queryKey: ['me'] })
    void navigate({ to: '/tasks/$id', params: { id }, search: {} })
  }
}

const Again = ({ view, onClose }: QuestionProps) => {
  const { again: texts } = useTexts(taskTexts)
  const reasons = useReasons()
  const openTask = useOpenTask()
  const navigate = useNavigate()
  const { data: again, error: failure } = useQuery({
    queryKey: ['quote-again', view.id],
    queryFn: () => prepareAgain(view),
    retry: false,
    staleTime: 0,
  })
  const run = useMutation({
    mutationFn: async () => (again == null ? undefined : runAgain(again)),
    onSuccess: (id) => {
      if (id === undefined) return
      onClose()
      openTask(id)
    },
  })
  const price = again?.quote && formatMoney(again.quote.total_micros, again.quote.currency)
  const refusal = again?.quote.refusal ?? null
  const error = run.error ?? failure ?? (refusal === null ? null : new Error(reasons.ofCode(refusal)))
  if (again === null)
    return (
      <Confirm
        isOpen
        isDangerous={false}
        question={texts.question(view.model)}
        action={texts.open}
        isBusy={false}
        error={null}
        onConfirm={() => {
          const { model, prompt } = view
          void navigate({ to: '/playground/video', search: { model, ...(prompt !== null && { prompt }) } })
        }}
        onClose={onClose}
      >
        <p>{texts.needsFiles}</p>
      </Confirm>
    )
  return (
    <Confirm
      isOpen
      isDangerous={false}
      question={texts.question(view.model)}
      action={price === undefined ? texts.actionPlain : texts.action(price)}
      isBusy={run.isPending}
      error={error}
      onConfirm={() => run.mutate()}
      onClose={onClose}
    >
      <p>{view.remixOf === null ? texts.detail : texts.detailRemix}</p>
      {again !== undefined && (again.files > 0 || again.characters.length > 0) && (
        <Note kind="warning">
          {again.files > 0 && <p>{texts.withoutFiles(again.files)}</p>}
          {again.characters.length > 0 && <p>{texts.withoutCharacters(again.characters.join(', '))}</p>}
        </Note>
      )}
      <p className="soft">{price === undefined ? texts.reading : texts.price(price)}</p>
    </Confirm>
  )
}

const Cancel = ({ view, onClose }: QuestionProps) => {
  const { cancel: texts } = useTexts(taskTexts)
  const cancel = useMutation({
    mutationFn: async () => {
      const { status } =
        view.own === null ? await kinoraAdmin.tasks.cancel(view.id) : await kinora.videos.cancel(view.id)
      await refreshTask(view.id)
      return status
    },
    onSuccess: (status) => {
      if (status === 'completed') showToast(texts.tooLate)
      onClose()
    },
  })
  return (
    <Confirm
      isOpen
      question={texts.question(shortenId(view.id))}
      action={texts.action(shortenId(view.id))}
      isBusy={cancel.isPending}
      error={cancel.error}
      onConfirm={() => cancel.mutate()}
      onClose={onClose}
    >
      <p>{texts.detail(formatMoney(view.holdMicros, view.currency))}</p>
    </Confirm>
  )
}

const Delete = ({ view, onClose }: QuestionProps) => {
  const { delete: texts } = useTexts(taskTexts)
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () => kinora.videos.delete(view.id),
    onSuccess: async () => {
      showToast(texts.done(shortenId(view.id)))
      onClose()
      await navigate({ to: '/tasks' })
      queryClient.removeQueries({ queryKey: taskKey(view.id) })
      void queryClient.invalidateQueries({ queryKey: ['tasks'] })
    },
  })
  return (
    <Confirm
      isOpen
      question={texts.question(shortenId(view.id))}
      action={texts.action(shortenId(view.id))}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <p>{texts.detail}</p>
    </Confirm>
  )
}

const Retry = ({ view, onClose }: QuestionProps) => {
  const { retry: texts } = useTexts(taskTexts)
  const openTask = useOpenTask()
  const retry = useMutation({
    mutationFn: () => kinoraAdmin.tasks.retry(view.id),
    onSuccess: ({ id }) => {
      onClose()
      openTask(id)
    },
  })
  const price = formatMoney(view.holdMicros, view.currency)
  return (
    <Confirm
      isOpen
      isDangerous={false}
      question={texts.question(shortenId(view.id))}
      action={texts.action(price)}
      isBusy={retry.isPending}
      error={retry.error}
      onConfirm={() => retry.mutate()}
      onClose={onClose}
    >
      <p>{texts.detail(view.account?.name ?? '', price)}</p>
    </Confirm>
  )
}

const Resolve = ({ view, action, onClose }: QuestionProps & { action: 'fail' | 'retry' }) => {
  const { resolve: texts } = useTexts(taskTexts)
  const resolve = useMutation({
    mutationFn: async () => {
      await kinoraAdmin.tasks.resolve(view.id, { action })
      await refreshTask(view.id)
    },
    onSuccess: onClose,
  })
  const id = shortenId(view.id)
  const isFailing = action === 'fail'
  return (
    <Confirm
      isOpen
      isDangerous={isFailing}
      question={isFailing ? texts.failQuestion(id) : texts.otherQuestion(id)}
      action={isFailing ? texts.fail : texts.other}
      isBusy={resolve.isPending}
      error={resolve.error}
      onConfirm={() => resolve.mutate()}
      onClose={onClose}
    >
      <p>{isFailing ? texts.failDetail(formatMoney(view.holdMicros, view.currency)) : texts.otherDetail}</p>
    </Confirm>
  )
}

export const TaskQuestion = ({ question, ...rest }: QuestionProps & { question: Question | null }) => {
  switch (question) {
    case 'again':
      return <Again {...rest} />
    case 'cancel':
      return <Cancel {...rest} />
    case 'delete':
      return <Delete {...rest} />
    case 'retry':
      return <Retry {...rest} />
    case 'fail':
      return <Resolve {...rest} action="fail" />
    case 'other':
      return <Resolve {...rest} action="retry" />
    case null:
      return null
  }
}
