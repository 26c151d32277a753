// FetchModel
