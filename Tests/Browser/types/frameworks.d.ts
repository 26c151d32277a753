// The types of Vue that the adapter names.
declare module 'vue' {
  export interface ShallowRef<T> { value: T }
  export type MaybeRefOrGetter<T> = T | ShallowRef<T> | (() => T);
}
