def check_table(results, update):
    return None
